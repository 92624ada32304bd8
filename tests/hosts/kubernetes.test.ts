import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { TestNetwork } from '@acc/testkit';
import { venv } from '../e2e/trackers/python/venv.js';
import { startProgram, startRank, type Variables } from './run-on-hosts.js';

const meet = fileURLToPath(new URL('./ranks/meet.ts', import.meta.url));
const acc = fileURLToPath(new URL('../../packages/cli/bin/acc.js', import.meta.url));
/** The oldest and the newest version of Kubernetes whose schema is compared. */
const VERSIONS = ['1.31', '1.37'];

/** The manifest of a job with two ranks in each pod. */
function manifest(nnodes: number): string {
  const args = ['--image', 'registry/meet:1', '-n', '2', '--nnodes', String(nnodes), '--no-prefix', meet];
  return execFileSync(process.execPath, [acc, 'launch', '--print', 'k8s', ...args], { encoding: 'utf8' });
}

let folder: string;
let validate: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'acc-kubernetes-'));
  validate = (await venv('kubernetes')).bin('kubernetes-validate');
}, 600_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function validated(text: string, version: string): { status: number | null; output: string } {
  const path = join(folder, 'job.yaml');
  writeFileSync(path, text);
  const { status, stdout, stderr } = spawnSync(validate, ['--strict', '-k', version, path], {
    encoding: 'utf8',
  });
  return { status, output: stdout + stderr };
}

it("manifests pass Kubernetes' own schema, which refuses an unknown field", () => {
  for (const version of VERSIONS) {
    for (const nnodes of [1, 2]) {
      const { status, output } = validated(manifest(nnodes), version);
      expect(status, output).toBe(0);
      expect(output.match(/PASS|passed/gi), output).toHaveLength(nnodes === 1 ? 2 : 3);
    }
    const wrong = manifest(2).replace('completionMode:', 'completionsMode:');
    expect(validated(wrong, version).status).not.toBe(0);
  }
});

// Kubernetes itself needs more than a test can install. The network has its names, and each host
// runs the command of a pod with the variables that a pod would have.
it('the commands of two pods are one job', async () => {
  await using network = await TestNetwork.create({ hosts: 2 });
  const [secret, service, job] = parseAllDocuments(manifest(2)).map((one) => one.toJS() as Manifest);
  const name = service!.metadata.name;
  const [first] = network.hosts;
  for (const host of network.hosts) {
    network.setHostsFile(host, `127.0.0.1 localhost\n${first!.address} ${name}-0.${name}\n`);
  }
  const [container] = job!.spec.template.spec.containers;
  const [token] = container!.env;
  expect(token).toMatchObject({
    name: 'ACC_JOB_TOKEN',
    valueFrom: { secretKeyRef: { name: secret!.metadata.name, key: 'token' } },
  });
  const running = network.hosts.map((host, index) => {
    const env = { ACC_JOB_TOKEN: secret!.stringData.token, JOB_COMPLETION_INDEX: String(index) };
    const [program, ...args] = container!.command as [string, ...string[]];
    return startProgram(network, host, [program, ...args], env);
  });
  const outputs = (await Promise.all(running.map(({ ended }) => ended))).map(({ output }) => output);
  const all = outputs.join('\n');
  for (let rank = 0; rank < 4; rank++) expect(all).toContain(`met ${rank}/4 local ${rank % 2}/2 sum 10`);
});

const clusters = fileURLToPath(new URL('../../examples/clusters/', import.meta.url));
const yamlOf = (name: string): unknown => parse(readFileSync(join(clusters, name), 'utf8'));
/** The command of an example, with this checkout's `acc` and the program of the tests. */
const runs = (command: string): readonly [string, ...string[]] => {
  const own = command
    .replaceAll('npx --no-install acc', `${process.execPath} ${acc}`)
    .replaceAll('train.mjs', meet);
  return ['sh', '-c', own];
};

/** The commands of the examples, with the variables that host `index` of two has. */
const EXAMPLES: Readonly<Record<string, () => [string, (index: number, first: string) => Variables]>> = {
  'kubeflow.yaml': () => {
    const { spec } = yamlOf('kubeflow.yaml') as {
      spec: { pytorchReplicaSpecs: Record<'Master' | 'Worker', PodTemplate> };
    };
    const [master, worker] = Object.values(spec.pytorchReplicaSpecs).map(
      ({ template }) => template.spec.containers[0]!.command,
    );
    expect(worker).toEqual(master);
    const variables = (index: number, first: string) => ({
      PET_NNODES: '2',
      WORLD_SIZE: '2',
      RANK: String(index),
      MASTER_ADDR: first,
      MASTER_PORT: '23456',
    });
    return [master!.at(-1)!, variables];
  },
  'trainjob.yaml': () => {
    const { spec } = yamlOf('trainjob.yaml') as {
      spec: { trainer: { numNodes: number; command: string[] } };
    };
    const { numNodes, command } = spec.trainer;
    const variables = (index: number, first: string) => ({
      PET_NNODES: String(numNodes),
      PET_NPROC_PER_NODE: 'auto',
      PET_NODE_RANK: String(index),
      PET_MASTER_ADDR: first,
      PET_MASTER_PORT: '29400',
    });
    return [command.at(-1)!, variables];
  },
  'skypilot.yaml': () => {
    const { run } = yamlOf('skypilot.yaml') as { run: string };
    const variables = (index: number, first: string) => ({
      SKYPILOT_TASK_ID: 'sky-1',
      SKYPILOT_NUM_NODES: '2',
      SKYPILOT_NODE_RANK: String(index),
      SKYPILOT_NODE_IPS: `${first}\nother`,
    });
    return [run, variables];
  },
};

it.each(Object.keys(EXAMPLES))(
  'the commands of examples/clusters/%s on two hosts are one job',
  async (name) => {
    await using network = await TestNetwork.create({ hosts: 2 });
    const [command, variablesOf] = EXAMPLES[name]!();
    const first = network.hosts[0]!.address;
    const running = network.hosts.map((host, index) =>
      startProgram(network, host, runs(command), { ACC_JOB_TOKEN: 'token', ...variablesOf(index, first) }),
    );
    const outputs = (await Promise.all(running.map(({ ended }) => ended))).map(({ output }) => output);
    const all = outputs.join('\n');
    for (let rank = 0; rank < 4; rank++) expect(all).toContain(`met ${rank}/4 local ${rank % 2}/2 sum 10`);
  },
);

it('processes that jsrun starts on two hosts of LSF are one job', async () => {
  await using network = await TestNetwork.create({ hosts: 2 });
  const hosts = join(folder, 'lsf-hosts');
  const [first, second] = network.hosts.map(({ address }) => address);
  writeFileSync(hosts, ['launches', first, first, second, second].join('\n'));
  const ranks = [0, 1, 2, 3].map((rank) =>
    startRank(network, network.hosts[Math.floor(rank / 2)]!, 'meet.ts', [], {
      LSB_JOBID: '4711',
      LSB_DJOB_HOSTFILE: hosts,
      JSM_NAMESPACE_SIZE: '4',
      JSM_NAMESPACE_RANK: String(rank),
      JSM_NAMESPACE_LOCAL_SIZE: '2',
      JSM_NAMESPACE_LOCAL_RANK: String(rank % 2),
    }),
  );
  const outputs = (await Promise.all(ranks.map(({ ended }) => ended))).map(({ output }) => output);
  outputs.forEach((output, rank) => expect(output).toContain(`met ${rank}/4 local ${rank % 2}/2 sum 10`));
  const { status, stderr } = spawnSync('bash', ['-n', join(clusters, 'lsf.sh')], { encoding: 'utf8' });
  expect(status, stderr).toBe(0);
});

/** The fields of the documents that the test reads. */
interface Manifest {
  readonly metadata: { readonly name: string };
  readonly stringData: { readonly token: string };
  readonly spec: PodTemplate;
}

interface PodTemplate {
  readonly template: {
    readonly spec: {
      readonly containers: readonly {
        readonly command: readonly string[];
        readonly env: readonly object[];
      }[];
    };
  };
}
