import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

/**
 * Starts a process that answers each line of its standard input with a line of JSON. It writes a
 * first line when it is ready. Its standard error is shown if it fails.
 *
 * @returns `ready`, the first line; `ask(line)`, which resolves to the answer; `end()`, which waits
 * until the process has ended.
 * @throws Error if it ends before it has answered.
 */
export async function startAnswering(command, args, env) {
  const child = spawn(command, args, { env: { ...process.env, ...env }, stdio: ['pipe', 'pipe', 'pipe'] });
  let errors = '';
  child.stderr.on('data', (data) => (errors += data));
  const closed = once(child, 'close');
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async () => {
    const { value, done } = await lines.next();
    if (!done) return JSON.parse(value);
    throw new Error(`${errors}\n${[command, ...args].join(' ')} has ended`);
  };
  const end = async () => {
    child.stdin.end();
    await closed;
  };
  try {
    return {
      ready: await next(),
      async ask(line) {
        child.stdin.write(`${line}\n`);
        return next();
      },
      end,
    };
  } catch (error) {
    child.kill();
    throw error;
  }
}
