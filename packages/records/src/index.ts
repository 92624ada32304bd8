export {
  BLOCK_HEADER_BYTES,
  joinSamples,
  KIND,
  MAGIC,
  parseRecords,
  RecordsTail,
  SAMPLE_COLUMNS,
  STEP_COLUMNS,
  type JoinedStep,
  type SampleRow,
  type StepRow,
} from './format.js';
export { parseFacts, type Facts } from './facts.js';
export { diagnose, findRuns, formatError, missingRanks, readRecords, recordsFolder } from './read-records.js';
export type { DiagnoseOptions, Diagnosis, NotJudged } from './diagnosis/diagnose.js';
export type { Change, Detector, Evidence, Finding, Gain, Needs } from './diagnosis/finding.js';
export type { RankRecords, RankStep, RecordedRun, Run } from './diagnosis/run.js';
export { syntheticRun, type Synthetic } from './synthetic.js';
export { meanParts, STEP_PARTS, type StepPart, type StepParts } from './diagnosis/step-parts.js';
export { stepTimes, type StepTimes, type TimeShares } from './diagnosis/time-shares.js';
export { drawBars, type Bar, type BarTexts } from './charts/bars.js';
export { drawPanels, type ChartLine, type Panel, type PanelTexts } from './charts/panels.js';
export { escape, type ChartColor } from './charts/svg.js';
export { median } from './diagnosis/statistics.js';
