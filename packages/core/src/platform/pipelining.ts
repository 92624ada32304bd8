export { Pipelines } from '../pipelined/pipelines.js';
export { staged } from '@acc/pipeline';
