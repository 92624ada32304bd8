/** Does nothing: the backends of pages are used portably. */
export function registerOtherLayers(): void {}
