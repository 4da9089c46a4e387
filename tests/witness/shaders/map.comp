// One expression over arrays: r[i] = EXPR(a[i], b[i], c[i]).
//
// ARITY  number of inputs, 1 to 3
// TA TB TC TR  types of the inputs and of the result
// EXPR   the expression, over the variables a, b and c
// PRESERVE  width whose infinities, NaNs and signed zeros the compiler must respect
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_8bit_storage : require
#ifdef PRESERVE
#extension GL_EXT_spirv_intrinsics : require
spirv_execution_mode(extensions = ["SPV_KHR_float_controls"], capabilities = [4466], 4461, PRESERVE);
#endif

layout(local_size_x = 64) in;

layout(std430, binding = 0) readonly buffer A { TA a_in[]; };
#if ARITY > 1
layout(std430, binding = 1) readonly buffer B { TB b_in[]; };
#endif
#if ARITY > 2
layout(std430, binding = 2) readonly buffer C { TC c_in[]; };
#endif
layout(std430, binding = ARITY) writeonly buffer R { TR r_out[]; };

#include "functions.glsl"

void main()
{
    uint i = gl_GlobalInvocationID.x;
    if (i >= uint(r_out.length()))
        return;
    TA a = a_in[i];
#if ARITY > 1
    TB b = b_in[i];
#endif
#if ARITY > 2
    TC c = c_in[i];
#endif
    precise TR r = TR(EXPR);
    r_out[i] = r;
}
