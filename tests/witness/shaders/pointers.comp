// Walks linked lists through buffer addresses, and reads and writes through computed ones.
#version 460
#extension GL_EXT_buffer_reference2 : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_scalar_block_layout : require
layout(local_size_x = 32) in;

layout(buffer_reference) buffer Node;
layout(buffer_reference, std430, buffer_reference_align = 8) buffer Node {
    Node next;
    uint value;
};
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer Quad { uvec4 q; };
layout(buffer_reference, scalar, buffer_reference_align = 1) buffer Byte { uint8_t b; };

layout(std430, binding = 0) writeonly buffer Out { uint r[]; };
layout(push_constant) uniform Push { Node heads; uint64_t bytes; };

void main()
{
    uint i = gl_GlobalInvocationID.x;
    uint sum = 0, steps = 0;
    Node node = heads[i];
    while (uint64_t(node) != 0ul && steps < 100) {
        sum = sum * 31 + node.value;
        node = node.next;
        steps++;
    }
    // 16 bytes from an address that is only aligned to 4, behind a negative index.
    Quad quad = Quad(bytes + 64ul + uint64_t(i) * 4ul);
    uvec4 q = Quad(uint64_t(quad) - 16ul).q;
    // Single bytes at odd addresses.
    uint tail = uint(Byte(bytes + uint64_t(i * 3 + 1)).b);
    r[3 * i] = sum + steps;
    r[3 * i + 1] = q.x ^ q.y * 3 ^ q.z * 5 ^ q.w * 7;
    r[3 * i + 2] = tail;
}
