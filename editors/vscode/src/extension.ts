// Starts `afterward lsp`, and offers to watch or fix the file on the screen.

import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import * as vscode from "vscode";
import { LanguageClient, LanguageClientOptions, ServerOptions } from "vscode-languageclient/node";
import { commandFor, quoted } from "./command";

let client: LanguageClient | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  context.subscriptions.push(
    vscode.commands.registerCommand("afterward.watchFile", watchFile),
    vscode.commands.registerCommand("afterward.fixFile", fixFile),
    vscode.commands.registerCommand("afterward.restart", restart),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration("afterward.command")) {
        void restart();
      }
    }),
  );
  await start();
}

export function deactivate(): Thenable<void> | undefined {
  return client?.stop();
}

function command(): string[] {
  const configured = vscode.workspace.getConfiguration("afterward").get<string[]>("command", []);
  return commandFor(configured, vscode.workspace.workspaceFolders?.[0]?.uri.fsPath);
}

async function start(): Promise<void> {
  const [program, ...rest] = command();
  const server: ServerOptions = { command: program, args: [...rest, "lsp"] };
  const options: LanguageClientOptions = {
    documentSelector: [{ language: "python", scheme: "file" }, { language: "python", scheme: "untitled" }],
  };
  client = new LanguageClient("afterward", "afterward", server, options);
  try {
    await client.start();
  } catch (error) {
    const choose = "Choose Another";
    const chosen = await vscode.window.showWarningMessage(
      `afterward could not be started (${program}): pip install 'afterward[lsp]' in the environment of this project.`,
      choose,
    );
    if (chosen === choose) {
      await vscode.commands.executeCommand("workbench.action.openSettings", "afterward.command");
    }
  }
}

async function restart(): Promise<void> {
  await client?.stop().catch(() => undefined);
  await start();
}

/** The saved Python file on the screen. */
async function currentFile(): Promise<vscode.Uri | undefined> {
  const document = vscode.window.activeTextEditor?.document;
  if (document === undefined || document.languageId !== "python" || document.isUntitled) {
    void vscode.window.showInformationMessage("Open and save a Python file first.");
    return undefined;
  }
  await document.save();
  return document.uri;
}

function terminalFor(file: vscode.Uri): vscode.Terminal {
  const folder = vscode.workspace.getWorkspaceFolder(file)?.uri;
  return vscode.window.createTerminal({ name: "afterward", cwd: folder });
}

function line(words: string[]): string {
  const extra = vscode.workspace.getConfiguration("afterward").get<string[]>("arguments", []);
  return [...command(), ...words, ...extra].map((word) => quoted(word)).join(" ");
}

async function watchFile(): Promise<void> {
  const file = await currentFile();
  if (file === undefined) {
    return;
  }
  const page = vscode.Uri.file(join(tmpdir(), `afterward-${basename(file.fsPath, ".py")}-${process.pid}.html`));
  const shown = vscode.workspace.createFileSystemWatcher(new vscode.RelativePattern(vscode.Uri.file(tmpdir()), basename(page.fsPath)));
  const open = async (): Promise<void> => {
    const text = new TextDecoder().decode(await vscode.workspace.fs.readFile(page));
    if (text.trimEnd().endsWith("</html>")) {
      shown.dispose();
      showPage(file, text);
    }
  };
  shown.onDidCreate(open);
  shown.onDidChange(open);
  const terminal = terminalFor(file);
  terminal.show(true);
  terminal.sendText(line(["run", "--html", page.fsPath, file.fsPath]));
}

/** The report beside the program: a browser of the user's own may run on another machine than the program. */
function showPage(file: vscode.Uri, text: string): void {
  const place = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true };
  const panel = vscode.window.createWebviewPanel("afterward", `afterward: ${basename(file.fsPath)}`, place, { enableScripts: true });
  panel.webview.html = text;
}

async function fixFile(): Promise<void> {
  const file = await currentFile();
  if (file === undefined) {
    return;
  }
  const terminal = terminalFor(file);
  terminal.show(true);
  terminal.sendText(line(["fix", file.fsPath]));
}
