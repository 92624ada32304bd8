export { launch, type LaunchOptions } from './launch/launch.js';
export { main } from './main.js';
