export { ACCELERATOR_FIELDS } from './accelerator-fields.js';
export {
  defaultText,
  withDefaults,
  type CommandOption,
  type CompleteOptions,
  type OptionsOf,
} from './command-option.js';
export {
  launchOptions,
  readConfiguration,
  withConfiguration,
  type Configuration,
  type ConfiguredOption,
} from './configuration.js';
export { expected, isValue, valueFrom, type Field, type FieldKind, type FieldValue } from './field.js';
export {
  findFile,
  PROJECT_FILE,
  userFile,
  workingFolder,
  type FoundFile,
  type Variables,
} from './find-file.js';
export { LAUNCH_FIELDS } from './launch-fields.js';
export { LAUNCH_OPTIONS } from './launch-options.js';
export { loadConfigFile, parseConfig } from './load-file.js';
export type { FileContent, FileValue } from './read-file.js';
export { readVariables, variableOf } from './variables.js';
export { configText, type ConfigValues } from './write.js';
