import type { Detector } from './finding.js';
import { batchSmall } from './detectors/batch.js';
import { commBound } from './detectors/communication.js';
import { launchBound, recomputeNeedless, slowdownSince, smallProducts } from './detectors/compute.js';
import { expertImbalance } from './detectors/experts.js';
import { exploding, fp16Scale, sameBatches } from './detectors/gradients.js';
import { hang } from './detectors/hang.js';
import { deadUnits, ranksDiffer, unusedWeights, vanishing } from './detectors/layers.js';
import { lossSpike, nonFinite, notLearning } from './detectors/learning.js';
import { checkpointStall, dataBound, garbage, loopCode } from './detectors/loop.js';
import { idleCores, paging, throttling } from './detectors/machine.js';
import { leak, memoryHeadroom, nearOom } from './detectors/memory.js';
import { oversubscribed, processorsTaken } from './detectors/processors.js';
import { slowRank } from './detectors/ranks.js';
import { reRecording } from './detectors/recordings.js';
import { evalHeavy, loggingSlow, syncRead } from './detectors/waits.js';
import { bubble, stageImbalance, unevenWork } from './detectors/work.js';

/** The detectors of this package, in the order of findings that cost as much as each other. */
export const DETECTORS: readonly Detector[] = [
  ...[dataBound, loopCode, checkpointStall, garbage],
  ...[evalHeavy, syncRead, loggingSlow],
  ...[launchBound, reRecording, smallProducts, recomputeNeedless, slowdownSince],
  ...[oversubscribed, processorsTaken, idleCores, throttling, paging],
  ...[slowRank, unevenWork, commBound, hang],
  ...[stageImbalance, bubble, expertImbalance],
  ...[leak, nearOom, memoryHeadroom],
  // The more exact causes come first, if they cost as much.
  ...[deadUnits, vanishing, unusedWeights, ranksDiffer],
  ...[nonFinite, lossSpike, notLearning],
  ...[exploding, fp16Scale, sameBatches],
  batchSmall,
];
