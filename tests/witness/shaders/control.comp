// Control flow that diverges: r[i] = KERNEL(i, x[i]).
#version 460
layout(local_size_x = 64) in;

layout(std430, binding = 0) readonly buffer In { uint x_in[]; };
layout(std430, binding = 1) writeonly buffer Out { uint r_out[]; };

// Three loops deep, each left and continued in the middle, with a return from the innermost.
uint nested_loops(uint id, uint x)
{
    uint sum = x;
    for (uint i = 0; i < (x & 7) + 1; i++) {
        if ((i + id) % 3 == 1)
            continue;
        uint j = 0;
        while (true) {
            if (j > (x >> 3 & 7))
                break;
            j++;
            if (((j ^ id) & 3) == 2)
                continue;
            for (uint k = 0; k < 5; k++) {
                if (k == (id & 3) + 1 && (j & 1) == 0)
                    break;
                sum = sum * 1664525 + k + i * 7 + j * 13;
                if (sum % 1021 == 7)
                    return sum ^ 0xdead0000u;
                if (sum % 19 == 4)
                    continue;
                sum += 3;
            }
            if (sum % 29 == 0)
                break;
        }
        if (sum % 53 == 0)
            break;
    }
    return sum;
}

// Cases next to each other, far apart, that fall through, and a default in the middle.
uint switches(uint id, uint x)
{
    uint r = 0;
    switch (x & 15) {
    case 0:
        r = 5;
        break;
    case 1:
        r = 7;
    case 2:
        r += 11;
        break;
    default:
        r = x >> 4;
        break;
    case 3:
    case 4:
    case 5:
        r = id;
        break;
    case 9:
        return 0xabcdu;
    }
    switch (x >> 16 & 0xff0) {
    case 0x100:
        r ^= 1;
        break;
    case 0xff0:
        r ^= 2;
        break;
    case 0x7f0:
    case 0x800:
        if ((id & 1) == 1)
            break;
        r ^= 4;
    default:
        r ^= 8;
    }
    return r;
}

// A switch in a loop: `break` leaves the switch, `continue` the loop's turn. The shift stays below
// 32: from `x >> (i & 31) & 1` Mesa 26.1 makes one bfeil without the `& 31` that the hardware needs.
uint switch_in_loop(uint id, uint x)
{
    uint state = x & 3, r = 0;
    for (uint i = 0; i < 30; i++) {
        switch (state) {
        case 0:
            state = (x >> (i & 15)) & 3;
            if ((x >> i & 1) == 1)
                continue;
            r += 1;
            break;
        case 1:
            state = 2;
            r = r * 3 + id;
            break;
        case 2:
            state = r & 3;
            continue;
        case 3:
            if ((r & 7) == 5)
                return r + i * 1000;
            state = 0;
            break;
        }
        r += i;
        if (r > 100000)
            break;
    }
    return r;
}

// The condition at the end, with a `continue` that jumps to it.
uint do_while(uint id, uint x)
{
    uint n = (x & 0xff) + 1, steps = 0, r = id;
    do {
        steps++;
        if ((n & 1) == 0) {
            n >>= 1;
            continue;
        }
        r += n;
        n = 3 * n + 1;
    } while (n != 1 && steps < 200);
    return r * 256 + steps;
}

uint early(uint x, uint limit)
{
    for (uint i = 2; i < limit; i++) {
        if (x % i == 0)
            return i;
        if (i * i > x)
            return x;
    }
    return 0;
}

// Functions that return from the middle of loops, called under divergence.
uint returns(uint id, uint x)
{
    uint a = early((x & 0xfff) + 2, 40);
    if ((id & 1) == 0)
        a += early(id + 2, 10) * 1000;
    else if ((x & 1) == 0)
        return early(a + 17, 64);
    return a;
}

// Conditions with side effects: the right side runs only where the left side lets it.
uint short_circuit(uint id, uint x)
{
    uint r = x;
    if ((x & 1) == 0 && (r += 5) % 3 != 0 && (r *= 3) > 100 || (r -= 1) % 7 == 0)
        r ^= 0x5a5a;
    bool a = (x & 2) != 0, b = (x & 4) != 0;
    r += (a ? (b ? (r >> 3) : (r << 2)) : (b ? r * 5 : r + id));
    return r;
}

// Ifs thirty deep, so that the nesting counter counts.
uint deep_ifs(uint id, uint x)
{
    uint r = 0;
#define IF(n, rest) if ((x >> n & 1) == 1) { r += n + 1; rest } else { r ^= n << 8; }
    IF(0, IF(1, IF(2, IF(3, IF(4, IF(5, IF(6, IF(7, r += id * 3;))))))))
    IF(8, IF(9, IF(10, IF(11, IF(12, IF(13, IF(14, IF(15, r ^= id * 5;))))))))
    return r;
}

// A loop whose trip count is the same for all, around one whose is not.
uint mixed_loops(uint id, uint x)
{
    uint r = 1;
    for (uint i = 0; i < 10; i++) {
        for (uint j = x & 15; j > 0; j--)
            r = r * 31 + j;
        r ^= r >> 7;
    }
    return r;
}

// Whole SIMD-groups skip a part, and single threads do.
uint whole_groups(uint id, uint x)
{
    uint r = x;
    if ((id & 32) == 0) {
        for (uint i = 0; i < 8; i++)
            r = r * 7 + i;
    }
    if (id == 77) {
        for (uint i = 0; i < 100; i++)
            r = r * 5 + 1;
    }
    if ((id & 31) > 28)
        r = ~r;
    return r;
}

// No control flow but the bounds check.
uint identity(uint id, uint x)
{
    return x;
}

void main()
{
    uint id = gl_GlobalInvocationID.x;
    if (id >= uint(x_in.length()))
        return;
    r_out[id] = KERNEL(id, x_in[id]);
}
