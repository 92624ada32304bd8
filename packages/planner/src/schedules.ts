// The entry '@acc/planner/schedules': tables of pipelines, and their simulation.
export {
  keyOf,
  rankOf,
  forward,
  SCHEDULES,
  type Action,
  type ActionKind,
  type PipelineShape,
  type Schedule,
  type ScheduleName,
} from './schedule/action.js';
export { pictureOf } from './schedule/picture.js';
export { scheduleOf } from './schedule/schedule.js';
export {
  simulate,
  type ActionCosts,
  type ActionTime,
  type CostOfAction,
  type Simulation,
  type TimedAction,
} from './schedule/simulate.js';
