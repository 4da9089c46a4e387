// One step of a bitonic sort of the whole buffer: many dispatches with barriers between.
#version 460
layout(local_size_x = 64) in;

layout(std430, binding = 0) buffer Data { uint data[]; };
layout(push_constant) uniform Step { uint run, stride; };

void main()
{
    uint thread = gl_GlobalInvocationID.x;
    uint low = 2 * thread - (thread & (stride - 1));
    uint high = low + stride;
    bool ascending = (low & run) == 0;
    uint x = data[low], y = data[high];
    if ((x > y) == ascending) {
        data[low] = y;
        data[high] = x;
    }
}
