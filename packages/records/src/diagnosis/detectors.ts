import type { Detector } from './finding.js';
import { launchBound, recomputeNeedless, slowdownSince } from './detectors/compute.js';
import { lossSpike, nonFinite, notLearning } from './detectors/learning.js';
import { checkpointStall, dataBound, garbage, loopCode } from './detectors/loop.js';
import { leak, nearOom } from './detectors/memory.js';
import { oversubscribed, processorsTaken } from './detectors/processors.js';
import { commBound, slowRank } from './detectors/ranks.js';

/** The detectors of this package, in no order. */
export const DETECTORS: readonly Detector[] = [
  ...[dataBound, loopCode, checkpointStall, garbage],
  ...[launchBound, recomputeNeedless, slowdownSince],
  ...[oversubscribed, processorsTaken],
  ...[slowRank, commBound],
  ...[leak, nearOom],
  ...[nonFinite, lossSpike, notLearning],
];
