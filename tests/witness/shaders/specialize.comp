// Specialization constants: local size, array length, loop bound, types, a derived constant.
#version 460
layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint LENGTH = 3;
layout(constant_id = 2) const int OFFSET = -1;
layout(constant_id = 3) const float FACTOR = 1.0;
layout(constant_id = 4) const bool FLIP = false;
const uint DERIVED = LENGTH * 2 + 1;

layout(std430, binding = 0) writeonly buffer Out { uint r[]; };

shared uint values[DERIVED];

void main()
{
    uint i = gl_LocalInvocationIndex;
    if (i < DERIVED)
        values[i] = i * 3;
    barrier();
    uint sum = 0;
    for (uint k = 0; k < LENGTH; k++)
        sum += values[(i + k) % DERIVED];
    int x = int(sum) + OFFSET;
    if (FLIP)
        x = -x;
    r[gl_GlobalInvocationID.x] = floatBitsToUint(float(x) * FACTOR) ^ gl_WorkGroupSize.x;
}
