import { counted, SAVED_EXIT_CODE } from '@acc/contract';
import { stringify } from 'yaml';
import { DEFAULT_PORT } from '../options.js';
import { newToken } from '../share-of-host.js';
import { shellWords } from '../shell-word.js';
import type { ClusterJob } from './job.js';

/** `acc launch` gives ranks 30 s to save after SIGTERM. */
const GRACE_SECONDS = 40;

/**
 * A manifest for Kubernetes: an Indexed Job with a pod for each host, a headless Service by which
 * pods find the first one, and the secret of the job.
 */
export function kubernetesManifest(job: ClusterJob, image: string): string {
  const documents = [
    tokenSecret(job),
    ...(job.nnodes > 1 ? [headlessService(job)] : []),
    indexedJob(job, image),
  ];
  const head = [
    `# ${counted(job.nnodes, 'pod')} with ${counted(job.nproc, 'rank')} each. Start it: kubectl apply -f FILE`,
    '# The image has Node.js, libtorch, and in its working directory the program with its node_modules.',
    '# The secret is random. Do not publish this file.',
    '',
  ].join('\n');
  return head + documents.map((document) => stringify(document, { lineWidth: 0 })).join('---\n');
}

const tokenName = ({ name }: ClusterJob): string => `${name}-token`;

function tokenSecret(job: ClusterJob): object {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: tokenName(job) },
    stringData: { token: newToken() },
  };
}

function headlessService({ name }: ClusterJob): object {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name },
    spec: {
      clusterIP: 'None',
      // Ranks meet before a pod is ready.
      publishNotReadyAddresses: true,
      selector: { 'batch.kubernetes.io/job-name': name },
      ports: [{ name: 'rank-0', port: DEFAULT_PORT }],
    },
  };
}

function indexedJob(job: ClusterJob, image: string): object {
  const { name, nnodes } = job;
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name },
    spec: {
      completionMode: 'Indexed',
      completions: nnodes,
      parallelism: nnodes,
      // `--max-restarts` restarts ranks within their pods.
      backoffLimit: 0,
      podFailurePolicy: {
        rules: [
          // Pods that saved a checkpoint, or were moved, start again and continue.
          {
            action: 'Ignore',
            onExitCodes: { containerName: name, operator: 'In', values: [SAVED_EXIT_CODE] },
          },
          { action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] },
        ],
      },
      template: {
        spec: {
          ...(nnodes > 1 ? { subdomain: name } : {}),
          restartPolicy: 'Never',
          terminationGracePeriodSeconds: GRACE_SECONDS,
          containers: [container(job, image)],
        },
      },
    },
  };
}

function container(job: ClusterJob, image: string): object {
  const { name, nproc, threads = 1 } = job;
  const cpu = String(nproc * threads);
  return {
    name,
    image,
    command: ['sh', '-c', shellScript(job)],
    env: [{ name: 'ACC_JOB_TOKEN', valueFrom: { secretKeyRef: { name: tokenName(job), key: 'token' } } }],
    resources: { requests: { cpu }, limits: { cpu } },
  };
}

function shellScript({ name, nnodes, nproc, threads = 1, options, program }: ClusterJob): string {
  const launch = `exec ./node_modules/.bin/acc launch -n ${nproc} --threads ${threads}`;
  const rest = shellWords([...options, ...program]);
  if (nnodes === 1) return `${launch} ${rest}\n`;
  const first = `${name}-0.${name}`;
  // The name of the first pod is known a moment after that pod has started.
  return `until getent hosts ${first}; do sleep 1; done
${launch} --nnodes ${nnodes} --node-rank "$JOB_COMPLETION_INDEX" --rdzv-endpoint ${first}:${DEFAULT_PORT} ${rest}
`;
}
