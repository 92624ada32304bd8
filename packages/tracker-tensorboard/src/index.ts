export {
  tensorboardTracker as default,
  tensorboardTracker,
  type TensorBoardOptions,
} from './tensorboard-tracker.js';
