// A colour whose green says whether the operations of a sub-group agree with each other.
vec4 agreed(vec4 color) {
    uint id = gl_SubgroupInvocationID;
    uvec4 active_lanes = subgroupBallot(true);
    bool good = subgroupAdd(1u) == subgroupBallotBitCount(active_lanes);
    good = good && gl_SubgroupSize >= subgroupBallotBitCount(active_lanes);
    good = good && subgroupBallotBitExtract(active_lanes, id);
    good = good && subgroupExclusiveAdd(1u) == subgroupBallotExclusiveBitCount(active_lanes);
    good = good && subgroupShuffle(id * 3u, id) == id * 3u;
    good = good && subgroupAdd(subgroupElect() ? 1u : 0u) == 1u;
    good = good && subgroupBroadcastFirst(id) == subgroupBallotFindLSB(active_lanes);
    good = good && subgroupMin(id) == subgroupBallotFindLSB(active_lanes);
    good = good && subgroupMax(id) == subgroupBallotFindMSB(active_lanes);
    return vec4(color.r, subgroupAll(good) ? 1.0 : 0.0, color.ba);
}
