import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, it } from 'vitest';
import { runCommand } from './child.mjs';

const node = (program, signal = new AbortController().signal) =>
  runCommand(process.execPath, ['-e', program], { signal });

it('keeps both outputs and the exit code', async () => {
  const { code, output } = await node("console.log('out'); console.error('error'); process.exitCode = 3");
  expect(code).toBe(3);
  expect(output.split('\n').sort()).toEqual(['', 'error', 'out']);
});

it('says that a command does not exist', async () => {
  const { signal } = new AbortController();
  const { code, output } = await runCommand('no-such-command', [], { signal });
  expect(code).toBe(127);
  expect(output).toContain('no-such-command');
});

it('names the signal that ended a command', async () => {
  expect((await node("process.kill(process.pid, 'SIGKILL')")).code).toBe(137);
});

it('does not wait for a process that outlives the command', async () => {
  const outliving = `
    const { spawn } = require('node:child_process');
    const child = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 600_000)'], { stdio: 'inherit', detached: true });
    console.log(child.pid);
    child.unref();`;
  const { code, output } = await node(outliving);
  expect(code).toBe(0);
  process.kill(Number(output), 'SIGKILL');
});

it('an aborted signal ends the command with its children', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const child = `
    process.on('SIGTERM', () => undefined);
    require('node:net').connect(${server.address().port}, '127.0.0.1').on('error', () => undefined);`;
  const parent = `require('node:child_process').spawn(process.execPath, ['-e', ${JSON.stringify(child)}], { stdio: 'inherit' });`;
  const ending = new AbortController();
  const running = node(parent, ending.signal);
  const [connection] = await once(server, 'connection');
  const closed = once(
    connection.resume().on('error', () => undefined),
    'close',
  );
  ending.abort();
  expect((await running).code).toBe(143);
  await closed;
  server.close();
});
