"""A small convolutional network in PyPI's `ncnn`, with Vulkan and on the CPU: equal outputs.

usage: ncnn_network.py DEVICE    part of the GPU's name
"""

import os
import sys
import tempfile

import ncnn
import numpy as np

rng = np.random.default_rng(11)

# Layer, name, inputs, outputs, and parameters in ncnn's text format.
PARAM = """7767517
10 11
Input            data    0 1 data 0=32 1=32 2=3
Convolution      conv1   1 1 data c1 0=16 1=3 4=1 5=1 6=432
ReLU             relu1   1 1 c1 r1
Split            split   1 2 r1 r1a r1b
ConvolutionDepthWise conv2 1 1 r1a c2 0=16 1=3 4=1 5=1 6=144 7=16
BinaryOp         add     2 1 c2 r1b sum 0=0
Pooling          pool    1 1 sum p1 0=0 1=2 2=2
Convolution      conv3   1 1 p1 c3 0=32 1=1 5=1 6=512 9=2 -23310=1,0.1
InnerProduct     fc      1 1 c3 logits 0=10 1=1 2=81920
Softmax          prob    1 1 logits prob 0=0
"""


def weights():
    """Float weights in the order of the layers: a tag of zero, the kernel, the bias."""
    parts = []
    for kernel, bias in ((432, 16), (144, 16), (512, 32), (81920, 10)):
        parts.append(np.zeros(1, np.uint32).tobytes())
        parts.append((rng.standard_normal(kernel) * 0.2).astype(np.float32).tobytes())
        parts.append((rng.standard_normal(bias) * 0.1).astype(np.float32).tobytes())
    return b"".join(parts)


def network(directory, device, half):
    net = ncnn.Net()
    net.opt.use_vulkan_compute = device is not None
    net.opt.use_fp16_packed = half
    net.opt.use_fp16_storage = half
    net.opt.use_fp16_arithmetic = half
    net.opt.use_bf16_storage = False
    net.opt.num_threads = 1
    if device is not None:
        net.set_vulkan_device(device)
    if net.load_param(os.path.join(directory, "net.param")) != 0:
        sys.exit("ncnn refuses the network")
    if net.load_model(os.path.join(directory, "net.bin")) != 0:
        sys.exit("ncnn refuses the weights")
    return net


def infer(net, image):
    extractor = net.create_extractor()
    extractor.input("data", ncnn.Mat(image))
    outputs = []
    for name in ("p1", "logits", "prob"):
        status, mat = extractor.extract(name)
        if status != 0:
            sys.exit(f"ncnn cannot extract {name}: {status}")
        outputs.append(np.array(mat).astype(np.float64))
    return outputs


def main():
    names = [ncnn.get_gpu_info(i).device_name() for i in range(ncnn.get_gpu_count())]
    device = next((i for i, name in enumerate(names) if sys.argv[1] in name), None)
    if device is None:
        sys.exit(f"ncnn finds no GPU named {sys.argv[1]}: {names}")
    print(f"device: {names[device]}")
    failed = 0
    with tempfile.TemporaryDirectory() as directory:
        with open(os.path.join(directory, "net.param"), "w") as file:
            file.write(PARAM)
        with open(os.path.join(directory, "net.bin"), "wb") as file:
            file.write(weights())
        image = rng.standard_normal((3, 32, 32)).astype(np.float32)
        expected = infer(network(directory, None, False), image)
        # Half precision: 11 bits through some hundred additions.
        for half, tolerance in ((False, 1e-4), (True, 2e-2)):
            got = infer(network(directory, device, half), image)
            for name, a, b in zip(("pooled features", "logits", "probabilities"), got, expected):
                error = np.abs(a - b).max() / max(1.0, np.abs(b).max())
                right = a.shape == b.shape and error < tolerance
                failed += not right
                kind = "half" if half else "single"
                print(f"{'ok' if right else 'WRONG'}: {name}, {kind} precision, error {error:.2e}")
    ncnn.destroy_gpu_instance()
    sys.exit(failed > 0)


main()
