/** The methods that tfjs-layers calls on a callback. */
export interface Callback {
  setParams(params: object): void;
  setModel(model: object): void;
  onTrainBegin(logs?: object): Promise<void>;
  onTrainEnd(logs?: object): Promise<void>;
  onEpochBegin(epoch: number, logs?: object): Promise<void>;
  onEpochEnd(epoch: number, logs?: object): Promise<void>;
  onBatchBegin(batch: number, logs?: object): Promise<void>;
  onBatchEnd(batch: number, logs?: object): Promise<void>;
}

/** The result of `fit` and `fitDataset`. */
export interface History {
  epoch: number[];
  history: Record<string, unknown[]>;
}
