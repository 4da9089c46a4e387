// One atomic operation a thread: old[i] = OP(cell, a[i]).
//
// T  int or uint, of 32 or 64 bits, or float; OP(cell, x)  the operation; SHARED  cells in local memory instead of a buffer;
// CELLS  number of cells: as many as threads (each alone), or few (all at once).
#version 460
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_atomic_float : enable
#extension GL_EXT_shader_atomic_float2 : enable
#extension GL_KHR_memory_scope_semantics : enable
#extension GL_EXT_shader_atomic_int64 : enable
#define THREADS 256
layout(local_size_x = THREADS) in;

layout(std430, binding = 0) readonly buffer A { T a[]; };
layout(std430, binding = 1) buffer Cells { T cells[]; };
layout(std430, binding = 2) writeonly buffer Old { T old[]; };

#ifdef SHARED
shared T local_cells[CELLS];
#define CELL(i) local_cells[i]
#else
#define CELL(i) cells[i]
#endif

void main()
{
    uint i = gl_GlobalInvocationID.x, cell = i % CELLS;
#ifdef SHARED
    if (gl_LocalInvocationIndex < CELLS)
        local_cells[cell] = cells[cell];
    barrier();
#endif
    T x = a[i];
    old[i] = OP(CELL(cell), x);
#ifdef SHARED
    barrier();
    if (gl_LocalInvocationIndex < CELLS)
        cells[cell] = local_cells[cell];
#endif
}
