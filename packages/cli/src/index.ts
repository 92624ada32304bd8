export {
  launch,
  type FunctionLaunchOptions,
  type LaunchOptions,
  type ModuleFunction,
} from './launch/launch.js';
export { main } from './main.js';
