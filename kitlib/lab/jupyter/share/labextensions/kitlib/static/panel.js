export function addPanel() {}
