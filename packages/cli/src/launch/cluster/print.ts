import { badOption, completeOptions, requireWhole, type LaunchOptions } from '../options.js';
import { CLUSTERS, clusterJob, requireImage, requirePrintable, type Cluster } from './job.js';
import { kubernetesManifest } from './kubernetes.js';
import { slurmScript } from './slurm.js';

export interface PrintOptions {
  readonly cluster: Cluster;
  /** The container image, for Kubernetes. */
  readonly image?: string;
  /** Default: from the name of the script. */
  readonly jobName?: string;
}

/**
 * The file with which a cluster runs the job. The script is on the cluster, so it is not searched
 * here.
 *
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_BAD_OPTION`, `ACC_MISSING_OPTION`.
 */
export function clusterFile(options: LaunchOptions, { cluster, image, jobName }: PrintOptions): string {
  if (!CLUSTERS.includes(cluster)) throw badOption('--print', cluster, CLUSTERS.join(' or '));
  requirePrintable(options);
  const nnodes = Number(options.nnodes ?? 1);
  requireWhole('--nnodes', nnodes, 1);
  // The file numbers the hosts itself, so the options are those of one host.
  const plan = completeOptions({ ...options, nnodes: 1 });
  const job = clusterJob(options, { ...plan, nnodes }, jobName);
  if (cluster === 'k8s') return kubernetesManifest(job, requireImage(image));
  if (image !== undefined) throw badOption('--image', image, 'used with --print k8s only');
  return slurmScript(job);
}
