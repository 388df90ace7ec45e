// Compiles TestUSDC.sol and writes TestUSDC.json, which the Go tests embed. Run by hand after a change:
//   npm ci --ignore-scripts && npm run build
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import solc from 'solc'

const source = 'TestUSDC.sol'
const content = readFileSync(source, 'utf8')
const output = JSON.parse(solc.compile(JSON.stringify({
  language: 'Solidity',
  sources: { [source]: { content } },
  settings: {
    evmVersion: 'paris',
    optimizer: { enabled: true, runs: 200 },
    metadata: { bytecodeHash: 'none' },
    outputSelection: { '*': { '*': ['abi', 'evm.deployedBytecode.object'] } },
  },
})))
for (const e of output.errors ?? []) console.error(e.formattedMessage)
if ((output.errors ?? []).some((e) => e.severity === 'error')) process.exit(1)
const artifact = { compiler: solc.version(), sourceSHA256: createHash('sha256').update(content).digest('hex') }
for (const [name, contract] of Object.entries(output.contracts[source])) {
  artifact[name] = { abi: contract.abi, runtime: '0x' + contract.evm.deployedBytecode.object }
}
writeFileSync('TestUSDC.json', JSON.stringify(artifact, null, 1) + '\n')
