#!/usr/bin/env node
// Starts the native server from the optional dependency for this platform, and behaves like it:
// the same streams, the same signals, the same exit status.
'use strict';

const { spawn } = require('node:child_process');
const { existsSync } = require('node:fs');
const os = require('node:os');
const path = require('node:path');

// Node reports the C library it was linked with; without glibc on Linux it is musl.
function libc() {
  if (process.platform !== 'linux') return '';
  const header = process.report && process.report.getReport().header;
  return header && header.glibcVersionRuntime ? '-gnu' : '-musl';
}

function find() {
  const name = `deckprobe-mcp-${process.platform}-${process.arch}${libc()}`;
  const binary = process.platform === 'win32' ? 'deckprobe-mcp.exe' : 'deckprobe-mcp';
  try {
    const found = path.join(path.dirname(require.resolve(`${name}/package.json`)), binary);
    if (existsSync(found)) return found;
  } catch {
    // Reported below, with what to do.
  }
  console.error(
    `deckprobe-mcp: the package ${name} is not installed.\n` +
      'Reinstall without --omit=optional. Where there is no package for your platform, build from source: cargo install deckprobe-mcp'
  );
  process.exit(1);
}

const child = spawn(find(), process.argv.slice(2), { stdio: 'inherit' });
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => child.kill(signal));
}
child.on('error', (error) => {
  console.error(`deckprobe-mcp: cannot start ${child.spawnfile}: ${error.message}`);
  process.exit(1);
});
child.on('exit', (code, signal) => {
  process.exit(signal ? 128 + os.constants.signals[signal] : code);
});
