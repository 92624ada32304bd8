// A job of several ranks that is one client, as the README shows it.
import { Accelerator } from '@acc/core';
import { joinFederation } from '@acc/federated';
import * as tf from '@tensorflow/tfjs';
import { lossOf, ROWS_PER_RANK, rowsOfRank } from './rows.js';

interface Args {
  readonly url: string;
  readonly token: string;
}

export default async function client({ url, token }: Args): Promise<number[]> {
  const accelerator = await Accelerator.create();
  const weights = tf.variable(tf.ones([4, 2]), true, 'weights');
  const [variables, optimizer] = accelerator.prepare([weights], tf.train.sgd(0.1));
  const rows = rowsOfRank(tf, accelerator.processIndex);

  function trainRound(): void {
    const received = accelerator.broadcast(weights);
    weights.assign(received);
    received.dispose();
    optimizer.minimize(() => lossOf(tf, weights, rows));
  }

  if (accelerator.isMainProcess) {
    const member = await joinFederation({
      ...{ url, token, variables },
      train: () => {
        accelerator.broadcastObject('train');
        trainRound();
        return { samples: accelerator.numProcesses * ROWS_PER_RANK };
      },
    });
    await member.done;
    accelerator.broadcastObject('end');
  } else while (accelerator.broadcastObject<string>('') === 'train') trainRound();
  const result = Array.from(weights.dataSync());
  accelerator.freeMemory();
  weights.dispose();
  optimizer.dispose();
  return result;
}
