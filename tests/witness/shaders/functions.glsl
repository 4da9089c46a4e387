// Functions with results through parameters, as expressions.

uvec2 add_carry(uint a, uint b)
{
    uint carry, sum = uaddCarry(a, b, carry);
    return uvec2(sum, carry);
}

uvec2 sub_borrow(uint a, uint b)
{
    uint borrow, difference = usubBorrow(a, b, borrow);
    return uvec2(difference, borrow);
}

uvec2 mul_extended(uint a, uint b)
{
    uint high, low;
    umulExtended(a, b, high, low);
    return uvec2(low, high);
}

ivec2 mul_extended(int a, int b)
{
    int high, low;
    imulExtended(a, b, high, low);
    return ivec2(low, high);
}

vec2 split_modf(float a)
{
    float whole, part = modf(a, whole);
    return vec2(part, whole);
}

vec2 split_frexp(float a)
{
    int exponent;
    float significand = frexp(a, exponent);
    return vec2(significand, float(exponent));
}

f16vec2 split_modf(float16_t a)
{
    float16_t whole, part = modf(a, whole);
    return f16vec2(part, whole);
}

f16vec2 split_frexp(float16_t a)
{
    int exponent;
    float16_t significand = frexp(a, exponent);
    return f16vec2(significand, float16_t(exponent));
}
