import { type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TestHost, TestNetwork } from '@acc/testkit';
import { scriptArguments } from '@acc/transpile';

/** A program on a host, and how it ended. */
export interface Running {
  readonly child: ChildProcess;
  /** The output so far. */
  output(): string;
  readonly ended: Promise<Ended>;
}

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly output: string;
  /** The value that it passed to `reportResult`. */
  readonly result: unknown;
}

export type Variables = Readonly<Record<string, string | undefined>>;

const acc = fileURLToPath(new URL('../../packages/cli/bin/acc.js', import.meta.url));

const scripts = join(import.meta.dirname, 'ranks');
/** A script of tests on one host that also runs on several. */
const OF_ONE_HOST = '../../e2e/ranks/conformance.ts';
/** The arguments of `node` for each of the scripts, by their paths from `ranks`. */
const programs = new Map(
  await Promise.all(
    [...readdirSync(scripts), OF_ONE_HOST].map(
      async (name) => [name, await scriptArguments(join(scripts, name))] as const,
    ),
  ),
);

/**
 * Runs `acc launch` with the built packages.
 *
 * @param within A command that runs the program whose name and arguments follow.
 */
export function launch(
  network: TestNetwork,
  host: TestHost,
  args: readonly string[],
  env: Variables = {},
  within: readonly string[] = [],
): Running {
  const [program, ...rest] = [...within, process.execPath, acc, 'launch', ...args];
  return startProgram(network, host, [program!, ...rest], env);
}

/** One rank, started as another launcher would start it. */
export function startRank(
  network: TestNetwork,
  host: TestHost,
  script: string,
  args: readonly string[],
  env: Variables,
): Running {
  return startProgram(network, host, [process.execPath, ...programs.get(script)!, ...args], env);
}

/**
 * The given number of ranks on each host, in the order of the hosts. Rank 0 runs the store on host
 * 0.
 */
export function startRanks(
  network: TestNetwork,
  script: string,
  args: readonly string[] = [],
  { ranksPerHost = 1, env = {} }: { readonly ranksPerHost?: number; readonly env?: Variables } = {},
): Running[] {
  const job = {
    MASTER_ADDR: network.hosts[0]!.address,
    MASTER_PORT: '29500',
    WORLD_SIZE: String(network.hosts.length * ranksPerHost),
    LOCAL_WORLD_SIZE: String(ranksPerHost),
    ACC_JOB_TOKEN: randomBytes(16).toString('hex'),
  };
  return network.hosts.flatMap((host, node) =>
    Array.from({ length: ranksPerHost }, (_, local) => {
      const place = { LOCAL_RANK: String(local), RANK: String(node * ranksPerHost + local) };
      return startRank(network, host, script, args, { ...job, ...place, ...env });
    }),
  );
}

/** Any program and its arguments. */
export function startProgram(
  network: TestNetwork,
  host: TestHost,
  [program, ...args]: readonly [string, ...string[]],
  env: Variables,
): Running {
  const child = network.spawn(host, program, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, OMP_NUM_THREADS: '1', ...env },
  });
  let output = '';
  const keep = (text: string) => (output += text);
  child.stdout!.setEncoding('utf8').on('data', keep);
  child.stderr!.setEncoding('utf8').on('data', keep);
  const ended = once(child, 'close').then(([code, signal]): Ended => {
    const line = /^::result::(.*)$/m.exec(output);
    return {
      code: code as number | null,
      signal: signal as NodeJS.Signals | null,
      output,
      result: line ? JSON.parse(line[1]!) : undefined,
    };
  });
  return { child, output: () => output, ended };
}

/** Resolves when a program has written `text`. */
export async function written(running: Running, text: string): Promise<void> {
  while (!running.output().includes(text)) {
    if (running.child.exitCode !== null) throw new Error(`ended without '${text}':\n${running.output()}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
