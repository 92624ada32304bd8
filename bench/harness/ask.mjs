import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

/**
 * Starts a process that answers lines on its standard input by lines of JSON, the first of them when it is ready; what it says on
 * standard error is shown when it fails.
 *
 * @returns `ready`, its first answer; `ask(line)`, which resolves to the answer; `end()`, which waits until it has ended.
 * @throws Error when it ends before it has answered.
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
