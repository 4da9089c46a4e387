// Stores and loads at places that the compiler knows, far into a buffer.
#version 460
layout(local_size_x = 1) in;

layout(std430, binding = 0) buffer Data { uvec4 data[65536]; };
layout(std430, binding = 1) writeonly buffer Out { uvec4 r[4]; };

void main()
{
    data[65535] = uvec4(1, 2, 3, 4);
    data[32768] = uvec4(5, 6, 7, 8);
    data[8192].y = 9;
    data[32767].x = 10;
    r[0] = data[65534];
    r[1] = data[40000];
    r[2] = data[8193];
    r[3] = data[16385];
}
