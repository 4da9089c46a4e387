// Each thread sorts 64 numbers with an explicit stack: private arrays with divergent indices.
#version 460
#define COUNT 64
layout(local_size_x = 32) in;

layout(std430, binding = 0) buffer Data { int data[]; };

void main()
{
    uint base = gl_GlobalInvocationID.x * COUNT;
    int a[COUNT];
    for (int i = 0; i < COUNT; i++)
        a[i] = data[base + i];
    ivec2 stack[COUNT];
    int depth = 0;
    stack[depth++] = ivec2(0, COUNT - 1);
    while (depth > 0) {
        ivec2 range = stack[--depth];
        if (range.x >= range.y)
            continue;
        int pivot = a[range.x + (range.y - range.x) / 2];
        int i = range.x - 1, j = range.y + 1;
        while (true) {
            do
                i++;
            while (a[i] < pivot);
            do
                j--;
            while (a[j] > pivot);
            if (i >= j)
                break;
            int swap = a[i];
            a[i] = a[j];
            a[j] = swap;
        }
        stack[depth++] = ivec2(range.x, j);
        stack[depth++] = ivec2(j + 1, range.y);
    }
    for (int i = 0; i < COUNT; i++)
        data[base + i] = a[i];
}
