// A float sum by compare-and-swap: loops until no other thread came between.
#version 460
layout(local_size_x = 64) in;

layout(std430, binding = 0) readonly buffer A { float a[]; };
layout(std430, binding = 1) buffer Sum { uint sum[]; };

void main()
{
    uint i = gl_GlobalInvocationID.x, cell = i & 3;
    uint expected = sum[cell];
    while (true) {
        uint wanted = floatBitsToUint(uintBitsToFloat(expected) + a[i]);
        uint found = atomicCompSwap(sum[cell], expected, wanted);
        if (found == expected)
            break;
        expected = found;
    }
}
