import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const COMMANDS: Partial<Record<NodeJS.Platform, readonly string[]>> = {
  darwin: ['open'],
  linux: ['xdg-open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};

/**
 * Opens an address in the browser of this desktop, if there is one. Other users can read command lines, so
 * the browser gets a file that only this user can read, which leads to the address.
 *
 * @returns Deletes that file.
 */
export function openBrowser(url: string): () => void {
  const [program, ...args] = COMMANDS[process.platform] ?? [];
  if (program === undefined || !hasDesktop()) return () => undefined;
  const folder = mkdtempSync(join(tmpdir(), 'acc-monitor-'));
  const file = join(folder, 'open.html');
  writeFileSync(file, `<meta http-equiv="refresh" content="0; url=${url}">`, { mode: 0o600 });
  const child = spawn(program, [...args, pathToFileURL(file).href], { stdio: 'ignore', detached: true });
  // The address is printed, too.
  child.on('error', () => undefined);
  child.unref();
  return () => rmSync(folder, { recursive: true, force: true });
}

function hasDesktop(): boolean {
  const { DISPLAY, WAYLAND_DISPLAY, SSH_CONNECTION } = process.env;
  if (SSH_CONNECTION !== undefined || !process.stdout.isTTY) return false;
  return process.platform !== 'linux' || DISPLAY !== undefined || WAYLAND_DISPLAY !== undefined;
}
