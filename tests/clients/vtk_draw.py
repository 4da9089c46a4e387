"""Draws through PyPI's `vtk` with OpenGL and no window, on a device of EGL: surfaces, axes, text, a volume.

usage: vtk_draw.py DEVICE DIRECTORY
  DEVICE     part of the renderer's name
  DIRECTORY  where the pictures go, as PNG
"""

import sys

import numpy as np
from vtkmodules.util.numpy_support import numpy_to_vtk, vtk_to_numpy
from vtkmodules.vtkCommonColor import vtkNamedColors
from vtkmodules.vtkCommonDataModel import vtkImageData, vtkPiecewiseFunction
from vtkmodules.vtkFiltersCore import vtkContourFilter, vtkGlyph3D
from vtkmodules.vtkFiltersSources import vtkConeSource, vtkCylinderSource, vtkSphereSource
from vtkmodules.vtkRenderingAnnotation import vtkAxesActor
from vtkmodules.vtkRenderingCore import (
    vtkActor,
    vtkColorTransferFunction,
    vtkPolyDataMapper,
    vtkRenderer,
    vtkVolume,
    vtkVolumeProperty,
    vtkWindowToImageFilter,
)
from vtkmodules.vtkRenderingOpenGL2 import vtkEGLRenderWindow
import vtkmodules.vtkRenderingVolumeOpenGL2
from vtkmodules.vtkRenderingVolume import vtkGPUVolumeRayCastMapper

import pictures

SIZE = 480, 360


def window(name):
    """A window without a screen on the first device of EGL that has `name` in its renderer's."""
    for index in range(16):
        made = vtkEGLRenderWindow()
        made.SetDeviceIndex(index)
        made.SetOffScreenRendering(1)
        # Positions of samples are the GPU's own.
        made.SetMultiSamples(0)
        made.SetSize(*SIZE)
        made.Initialize()
        said = made.ReportCapabilities() or ""
        renderer = next((l for l in said.splitlines() if l.startswith("OpenGL renderer string")), "")
        # Mesa's own driver for the GPU; Tepui's has no OpenGL but zink's.
        if name in renderer and (name == "Tepui" or "zink" not in renderer):
            print(renderer)
            return made
        made.Finalize()
    sys.exit(f"no device of EGL is called {name}")


def picture(target):
    target.Render()
    reader = vtkWindowToImageFilter()
    reader.SetInput(target)
    reader.SetInputBufferTypeToRGBA()
    reader.ReadFrontBufferOff()
    reader.Update()
    image = reader.GetOutput()
    texels = vtk_to_numpy(image.GetPointData().GetScalars())
    return texels.reshape(SIZE[1], SIZE[0], 4)[::-1].astype(np.uint8)


def field():
    """A grid of 32³ values: two spheres that join."""
    x, y, z = np.meshgrid(*[np.linspace(-1, 1, 32)] * 3, indexing="ij")
    values = sum(0.1 / (0.02 + (x - a) ** 2 + y**2 + (z - a) ** 2) for a in (-0.35, 0.35))
    image = vtkImageData()
    image.SetDimensions(32, 32, 32)
    image.SetSpacing(2 / 31, 2 / 31, 2 / 31)
    image.SetOrigin(-1, -1, -1)
    scalars = numpy_to_vtk(values.astype(np.float32).ravel(order="F"), deep=True)
    image.GetPointData().SetScalars(scalars)
    return image


def shown(source, color, *, specular=0.4):
    mapper = vtkPolyDataMapper()
    mapper.SetInputConnection(source.GetOutputPort())
    mapper.ScalarVisibilityOff()
    actor = vtkActor()
    actor.SetMapper(mapper)
    actor.GetProperty().SetColor(vtkNamedColors().GetColor3d(color))
    actor.GetProperty().SetSpecular(specular)
    actor.GetProperty().SetSpecularPower(20)
    return actor


def surfaces(renderer):
    contour = vtkContourFilter()
    contour.SetInputData(field())
    contour.SetValue(0, 0.6)
    renderer.AddActor(shown(contour, "Tomato"))
    sphere = vtkSphereSource()
    sphere.SetThetaResolution(16)
    sphere.SetPhiResolution(12)
    sphere.SetRadius(0.4)
    cone = vtkConeSource()
    cone.SetResolution(12)
    cone.SetHeight(0.25)
    cone.SetRadius(0.06)
    glyphs = vtkGlyph3D()
    glyphs.SetInputConnection(sphere.GetOutputPort())
    glyphs.SetSourceConnection(cone.GetOutputPort())
    glyphs.SetVectorModeToUseNormal()
    glyphs.ScalingOff()
    spikes = shown(glyphs, "SteelBlue")
    spikes.SetPosition(1.6, 0, 0)
    renderer.AddActor(spikes)
    cylinder = vtkCylinderSource()
    cylinder.SetResolution(30)
    edges = shown(cylinder, "Wheat")
    edges.SetPosition(-1.6, 0, 0)
    edges.GetProperty().EdgeVisibilityOn()
    renderer.AddActor(edges)
    axes = vtkAxesActor()
    axes.SetTotalLength(1.2, 1.2, 1.2)
    axes.AxisLabelsOff()
    renderer.AddActor(axes)


def volume(renderer):
    mapper = vtkGPUVolumeRayCastMapper()
    mapper.SetInputData(field())
    mapper.UseJitteringOff()
    mapper.AutoAdjustSampleDistancesOff()
    mapper.SetSampleDistance(0.2)
    opacity = vtkPiecewiseFunction()
    opacity.AddPoint(0.1, 0.0)
    opacity.AddPoint(1.0, 0.9)
    color = vtkColorTransferFunction()
    color.AddRGBPoint(0.1, 0.1, 0.2, 0.8)
    color.AddRGBPoint(0.6, 0.9, 0.4, 0.2)
    color.AddRGBPoint(2.0, 1.0, 1.0, 0.6)
    look = vtkVolumeProperty()
    look.SetScalarOpacity(opacity)
    look.SetColor(color)
    look.SetInterpolationTypeToLinear()
    look.ShadeOn()
    block = vtkVolume()
    block.SetMapper(mapper)
    block.SetProperty(look)
    renderer.AddVolume(block)


def main():
    device, directory = sys.argv[1:]
    target = window(device)
    for title, fill in (("surfaces", surfaces), ("volume", volume)):
        renderer = vtkRenderer()
        renderer.SetBackground(0.1, 0.12, 0.2)
        fill(renderer)
        camera = renderer.GetActiveCamera()
        camera.SetPosition(2.0, 2.2, 4.5)
        camera.SetFocalPoint(0, 0, 0)
        renderer.ResetCamera()
        camera.Zoom(1.3)
        target.AddRenderer(renderer)
        pictures.save(directory, title, picture(target))
        target.RemoveRenderer(renderer)


main()
