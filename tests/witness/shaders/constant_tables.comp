// Constant arrays that each invocation reads at its own place.
#version 460
layout(local_size_x = 64) in;

layout(std430, binding = 0) readonly buffer In { uint index[64]; };
layout(std430, binding = 1) writeonly buffer Out { uint r[]; };

#define MIX(i) ((i) * 2654435761u)
#define FOUR(i) MIX(i), MIX(i + 1u), MIX(i + 2u), MIX(i + 3u)
#define VECTOR(i) uvec3(MIX(i), MIX(i + 7u), i)
#define ODD(i) (MIX(i) & 0x10000u) != 0u

const uint words[40] = uint[](FOUR(0u), FOUR(4u), FOUR(8u), FOUR(12u), FOUR(16u), FOUR(20u), FOUR(24u),
    FOUR(28u), FOUR(32u), FOUR(36u));
const uvec3 vectors[6] = uvec3[](VECTOR(0u), VECTOR(1u), VECTOR(2u), VECTOR(3u), VECTOR(4u), VECTOR(5u));
const bool flags[36] = bool[](ODD(0u), ODD(1u), ODD(2u), ODD(3u), ODD(4u), ODD(5u), ODD(6u), ODD(7u), ODD(8u),
    ODD(9u), ODD(10u), ODD(11u), ODD(12u), ODD(13u), ODD(14u), ODD(15u), ODD(16u), ODD(17u), ODD(18u), ODD(19u),
    ODD(20u), ODD(21u), ODD(22u), ODD(23u), ODD(24u), ODD(25u), ODD(26u), ODD(27u), ODD(28u), ODD(29u), ODD(30u),
    ODD(31u), ODD(32u), ODD(33u), ODD(34u), ODD(35u));

void main()
{
    uint at = gl_LocalInvocationIndex;
    uint i = index[at];
    uvec3 v = vectors[i % 6u];
    r[at * 8u] = words[i];
    r[at * 8u + 1u] = v.x;
    r[at * 8u + 2u] = v.y;
    r[at * 8u + 3u] = v.z;
    r[at * 8u + 4u] = flags[i % 36u] ? 3u : 5u;
    // The same place for all, and one that is known.
    r[at * 8u + 5u] = words[index[0] / 2u];
    r[at * 8u + 6u] = words[39];
    // Not reached by all.
    r[at * 8u + 7u] = (i & 1u) != 0u ? words[i / 2u] : i;
}
