export {
  SCHEDULES,
  type Action,
  type ActionKind,
  type PipelineShape,
  type Schedule,
  type ScheduleName,
} from './schedule/action.js';
export { pictureOf } from './schedule/picture.js';
export { scheduleOf } from './schedule/schedule.js';
export { simulate, type ActionCosts, type Simulation, type TimedAction } from './schedule/simulate.js';
