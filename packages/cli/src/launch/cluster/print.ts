import { badOption } from '../check-values.js';
import { completeOptions, type LaunchOptions } from '../options.js';
import { clusterJob, requireImage, requirePrintable } from './job.js';
import { kubernetesManifest } from './kubernetes.js';
import type { Cluster } from './print-options.js';
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
  requirePrintable(options);
  // The file numbers the hosts itself, so the options are those of the first host.
  const plan = completeOptions({ ...options, nodeRank: 0, rdzvEndpoint: 'first' });
  const job = clusterJob(options, plan, jobName);
  if (cluster === 'k8s') return kubernetesManifest(job, requireImage(image));
  if (image !== undefined) throw badOption('--image', image, 'used with --print k8s only');
  return slurmScript(job);
}
