// A page has one process, which reads all data.

export const dispatchBatches = (): undefined => undefined;

export const refuseDispatch = (): void => {};
