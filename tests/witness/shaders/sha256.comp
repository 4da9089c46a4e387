// SHA-256 of one 64-byte block a thread: rotations, and an array of 64 words for each thread.
#version 460
layout(local_size_x = 64) in;

layout(std430, binding = 0) readonly buffer In { uint blocks[]; };
layout(std430, binding = 1) readonly buffer Constants { uint k[64]; };
layout(std430, binding = 2) writeonly buffer Out { uint digests[]; };

uint rotate(uint x, uint by)
{
    return x >> by | x << (32 - by);
}

void main()
{
    uint thread = gl_GlobalInvocationID.x;
    uint w[64];
    for (int i = 0; i < 16; i++)
        w[i] = blocks[16 * thread + i];
    for (int i = 16; i < 64; i++) {
        uint s0 = rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3;
        uint s1 = rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10;
        w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    uint h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    uint s[8] = h;
    for (int i = 0; i < 64; i++) {
        uint s1 = rotate(s[4], 6) ^ rotate(s[4], 11) ^ rotate(s[4], 25);
        uint choose = s[4] & s[5] ^ ~s[4] & s[6];
        uint t1 = s[7] + s1 + choose + k[i] + w[i];
        uint s0 = rotate(s[0], 2) ^ rotate(s[0], 13) ^ rotate(s[0], 22);
        uint majority = s[0] & s[1] ^ s[0] & s[2] ^ s[1] & s[2];
        for (int j = 7; j > 0; j--)
            s[j] = s[j - 1];
        s[4] += t1;
        s[0] = t1 + s0 + majority;
    }
    for (int i = 0; i < 8; i++)
        digests[8 * thread + i] = s[i] + h[i];
}
