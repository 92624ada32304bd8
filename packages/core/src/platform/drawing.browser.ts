/** Pages do not read ahead, so code draws in the order of the program. */
export function drawingOf(): undefined {}
