//! The AGX instruction set: one table from which encoder, decoder, assembler, disassembler and manual come.
