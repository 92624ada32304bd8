import type { Detector } from './finding.js';
import { launchBound, recomputeNeedless, slowdownSince, smallProducts } from './detectors/compute.js';
import { exploding, fp16Scale, sameBatches } from './detectors/gradients.js';
import { hang } from './detectors/hang.js';
import { lossSpike, nonFinite, notLearning } from './detectors/learning.js';
import { checkpointStall, dataBound, garbage, loopCode } from './detectors/loop.js';
import { leak, nearOom } from './detectors/memory.js';
import { oversubscribed, processorsTaken } from './detectors/processors.js';
import { commBound, slowRank } from './detectors/ranks.js';
import { bubble, stageImbalance, unevenWork } from './detectors/work.js';

/** The detectors of this package, in no order. */
export const DETECTORS: readonly Detector[] = [
  ...[dataBound, loopCode, checkpointStall, garbage],
  ...[launchBound, smallProducts, recomputeNeedless, slowdownSince],
  ...[oversubscribed, processorsTaken],
  ...[slowRank, unevenWork, commBound, hang],
  ...[stageImbalance, bubble],
  ...[leak, nearOom],
  ...[nonFinite, lossSpike, notLearning],
  ...[exploding, fp16Scale, sameBatches],
];
