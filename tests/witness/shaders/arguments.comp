// Writes the arguments of later indirect dispatches.
#version 460
layout(local_size_x = 1) in;

layout(std430, binding = 0) writeonly buffer Out { uint arguments[]; };

void main()
{
    // Three dispatches at byte offsets 4, 32 and 64; the middle one is empty.
    arguments[1] = 3; arguments[2] = 2; arguments[3] = 1;
    arguments[8] = 4; arguments[9] = 0; arguments[10] = 1;
    arguments[16] = 7; arguments[17] = 1; arguments[18] = 1;
}
