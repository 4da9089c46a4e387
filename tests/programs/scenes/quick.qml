// A window of Qt Quick: shapes with gradients, text, a canvas, an effect of blending. Nothing moves.
import QtQuick
import QtQuick.Window

Window {
    width: 320
    height: 240
    visible: true
    color: "#203040"

    Rectangle {
        x: 20; y: 20; width: 120; height: 80; radius: 16; rotation: 8
        border { width: 3; color: "#ffd060" }
        gradient: Gradient {
            GradientStop { position: 0; color: "#3090e0" }
            GradientStop { position: 1; color: "#103060" }
        }
    }
    Text { x: 30; y: 140; text: "Qt Quick on Vulkan"; color: "white"; font.pixelSize: 22 }
    Text { x: 30; y: 180; text: "small print, hinted"; color: "#a0c0ff"; font.pixelSize: 11 }
    Canvas {
        x: 180; y: 10; width: 120; height: 120
        onPaint: {
            const g = getContext("2d")
            for (let i = 0; i < 12; i++) {
                g.fillStyle = Qt.hsla(i / 12, 0.8, 0.5, 0.8)
                g.beginPath()
                g.moveTo(60, 60)
                g.arc(60, 60, 55, i * Math.PI / 6, (i + 1) * Math.PI / 6)
                g.fill()
            }
        }
    }
    Rectangle { x: 150; y: 60; width: 140; height: 100; color: "#ff4040"; opacity: 0.3 }
}
