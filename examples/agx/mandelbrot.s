# The Mandelbrot set on AGX: one thread a pixel.
#
# u0_u1  address of the picture, RGBA8, rows without padding
# u2     width of a row in pixels
# u3 u4  left and top edge, u5 width of a pixel (floats)

    get_sr      r1, sr80                # x
    get_sr      r2, sr81                # y
    convert     u32_to_f, r3, r1, rte
    convert     u32_to_f, r4, r2, rte
    fmadd32     r3, r3, u5, u3          # c = r3 + i·r4
    fmadd32     r4, r4, u5, u4
    mov_imm     r5, 0, 0b0                   # z = r5 + i·r6
    mov_imm     r6, 0, 0b0
    mov_imm     r7, 0, 0b0                   # iterations
    mov_imm     r0l, 0                  # all threads run
    push_exec   r0l, 1                  # enter the loop
loop:
    fmul32      r8, r5, r5
    fmul32      r9, r6, r6
    fadd32      r10, r8, r9             # |z|²
    fadd32      r11, r5, r5
    fmadd32     r6, r11, r6, r4
    fadd32      r5, r8, r9.neg
    fadd32      r5, r5, r3
    iadd        r7, r7, 1
    fcmpsel     lte, r12, r10, 4.0, 1, 0
    icmpsel     ult, r12, r7, 255, r12, 0
    while_icmp  r0l, nueq, r12, 0, 1    # threads that are done leave
    jmp_exec_any loop
    pop_exec    r0l, 1                  # and meet here

    # Black inside, else three ramps of different speed over the iterations.
    imadd       r13, r7, 3, 0
    imadd       r14, r7, 7, 0
    imadd       r15, r7, 11, 64
    bfi         r13, r13, r14, 8, mask 0xff
    bfi         r13, r13, r15, 16, mask 0xff
    icmpsel     ueq, r13, r7, 255, 0, r13
    mov_imm     r14, 255, 0b0
    bfi         r13, r13, r14, 24, mask 0xff
    imadd       r2, r2, u2, r1          # index of the pixel
    device_store 0, i32, x, r13, u0_u1, r2, unsigned, 0
    stop
