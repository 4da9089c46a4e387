"""The adapter that a client of PyPI's `wgpu` runs on."""

import os
import sys

import wgpu
from wgpu.backends.wgpu_native.extras import set_instance_extras

# Shaders keep their source and its lines, for debuggers.
if os.environ.get("SHADER_LINES"):
    set_instance_extras(flags=["Debug"])


def device_named(name):
    """A device of the first Vulkan adapter with `name` in its summary, which is printed."""
    adapters = wgpu.gpu.enumerate_adapters_sync()
    found = [a for a in adapters if a.info["backend_type"] == "Vulkan" and name in a.summary]
    if not found:
        sys.exit(f"no Vulkan adapter named {name}: {[a.summary for a in adapters]}")
    print(f"adapter: {found[0].summary}")
    return found[0].request_device_sync()
