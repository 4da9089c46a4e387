// Starts `tepui dap` as the debug adapter of sessions of type `tepui`.

const vscode = require("vscode");

const factory = {
  createDebugAdapterDescriptor() {
    const command = vscode.workspace.getConfiguration("tepui").get("command") || "tepui";
    return new vscode.DebugAdapterExecutable(command, ["dap"]);
  },
};

// F5 without a launch.json debugs the shader in the editor.
const provider = {
  resolveDebugConfiguration(_folder, config) {
    const file = vscode.window.activeTextEditor?.document.fileName;
    if (config.type || !file) return config;
    return { type: "tepui", request: "launch", name: "Debug this shader", program: file, stopOnEntry: true };
  },
};

exports.activate = (context) => {
  context.subscriptions.push(
    vscode.debug.registerDebugAdapterDescriptorFactory("tepui", factory),
    vscode.debug.registerDebugConfigurationProvider("tepui", provider),
  );
};

exports.deactivate = () => {};
