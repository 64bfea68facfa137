export function addCommands() {}
