// A node of Solana for tests: the chain's own runtime (litesvm) behind the JSON-RPC methods that x402 and we use. It
// prints its port, and ends when its standard input does.
import { createRequire } from 'node:module'
import { createServer } from 'node:http'
import { fromBase58, mintAccount, readTransaction, toBase58, tokenAccount, tokenBalance } from './wire.mjs'

const { LiteSvm, Account, FailedTransactionMetadata, FeatureSet } = createRequire(import.meta.url)('litesvm-linux-x64-gnu')

const genesis = '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d'
const usdc = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v'
const tokenProgram = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA'
const firstSlot = 1000

const svm = new LiteSvm()
svm.setFeatureSet(FeatureSet.allEnabled())
svm.setBuiltins()
svm.setSysvars()
svm.setDefaultPrograms()
svm.setLamports(10n ** 18n)
svm.setSigverify(true)
svm.setBlockhashCheck(true)
svm.setTransactionHistory(10_000n)

const put = (address, data) =>
  svm.setAccount(fromBase58(address), new Account(10n ** 9n, data, fromBase58(tokenProgram), false, 0n))
put(usdc, mintAccount(6))

let slot = firstSlot
let ahead = 0 // seconds that the chain's clock is ahead of ours
let finalizing = true
const times = new Map() // by slot
const transactions = new Map() // by signature, oldest first
const now = () => Math.floor(Date.now() / 1000) + ahead
const nextSlot = () => {
  times.set(++slot, now())
  svm.warpToSlot(BigInt(slot))
}
times.set(firstSlot, now() - 3600)
nextSlot()

class Refusal extends Error {
  constructor(code, message) {
    super(message)
    this.code = code
  }
}

const context = () => ({ slot, apiVersion: '2.0.0' })
const withContext = (value) => ({ context: context(), value })
const accountOf = (address) => svm.getAccount(fromBase58(address))

function balances(accounts) {
  return accounts.flatMap((address, accountIndex) => {
    const account = accountOf(address)
    const token = account && toBase58(account.owner()) === tokenProgram ? tokenBalance(account.data()) : null
    if (!token) return []
    const uiTokenAmount = { amount: String(token.amount), decimals: 6 }
    return [{ accountIndex, mint: token.mint, owner: token.owner, programId: tokenProgram, uiTokenAmount }]
  })
}

function info(address, options) {
  const account = accountOf(address)
  if (!account) return null
  const data = [Buffer.from(account.data()).toString('base64'), options?.encoding ?? 'base64']
  return { data, executable: account.executable(), lamports: Number(account.lamports()), owner: toBase58(account.owner()), rentEpoch: 0, space: account.data().length }
}

function send(text) {
  const wire = Buffer.from(text, 'base64')
  const { signatures, accounts } = readTransaction(wire)
  const pre = balances(accounts)
  const result = svm.sendVersionedTransaction(wire)
  if (result instanceof FailedTransactionMetadata) {
    throw new Refusal(-32002, 'Transaction simulation failed: ' + result.toString().slice(0, 300))
  }
  nextSlot()
  transactions.set(signatures[0], {
    slot, accounts, final: finalizing, blockTime: times.get(slot), transaction: [text, 'base64'], version: 0,
    meta: { err: null, fee: 5000, preBalances: [], postBalances: [], preTokenBalances: pre, postTokenBalances: balances(accounts), innerInstructions: [], logMessages: [] },
  })
  return signatures[0]
}

function simulate(text) {
  const result = svm.simulateVersionedTransaction(Buffer.from(text, 'base64'))
  const failed = result instanceof FailedTransactionMetadata
  return withContext({ err: failed ? result.toString().slice(0, 300) : null, logs: [], accounts: null, unitsConsumed: 0, returnData: null })
}

const shown = (t, options) => t && (t.final || options?.commitment === 'confirmed')

function history(address, options) {
  let all = [...transactions].reverse().filter(([, t]) => t.accounts.includes(address) && shown(t, options))
  const before = all.findIndex(([signature]) => signature === options?.before)
  all = all.slice(before + 1, before + 1 + (options?.limit ?? 1000))
  return all.map(([signature, t]) => ({
    signature, slot: t.slot, blockTime: t.blockTime, err: null, memo: null, confirmationStatus: t.final ? 'finalized' : 'confirmed',
  }))
}

function one(signature, options) {
  fromBase58(signature, 64)
  const t = transactions.get(signature)
  if (!shown(t, options)) return null
  const { accounts, final, ...rest } = t
  return rest
}

const methods = {
  getGenesisHash: () => genesis,
  getVersion: () => ({ 'solana-core': '2.0.0' }),
  getLatestBlockhash: () => withContext({ blockhash: svm.latestBlockhash(), lastValidBlockHeight: slot + 150 }),
  isBlockhashValid: (hash) => withContext(hash === svm.latestBlockhash()),
  getAccountInfo: (address, options) => withContext(info(address, options)),
  getTokenSupply: () => withContext({ amount: '1000000000000000', decimals: 6 }),
  getTokenAccountBalance: (address) => withContext({ amount: String(tokenBalance(accountOf(address).data()).amount), decimals: 6 }),
  getBlockTime: (of) => times.get(of) ?? null,
  getFirstAvailableBlock: () => firstSlot,
  getSignaturesForAddress: history,
  getTransaction: one,
  getSignatureStatuses: (list) => withContext(list.map((signature) => {
    const t = transactions.get(signature)
    return t ? { slot: t.slot, confirmations: null, err: null, status: { Ok: null }, confirmationStatus: t.final ? 'finalized' : 'confirmed' } : null
  })),
  simulateTransaction: simulate,
  sendTransaction: send,
  // What follows no real node has.
  test_airdrop: (address) => void svm.airdrop(fromBase58(address), 10n ** 12n),
  test_fund: (account, owner, amount) => void put(account, tokenAccount(usdc, owner, amount)),
  test_now: now,
  test_pass: (seconds) => {
    ahead += seconds
    svm.expireBlockhash()
    nextSlot()
  },
  test_finalize: (on) => {
    finalizing = on
    if (on) for (const t of transactions.values()) t.final = true
  },
}

createServer(async (request, response) => {
  let body = ''
  for await (const chunk of request) body += chunk
  const answer = { jsonrpc: '2.0', id: null }
  try {
    const { id, method, params } = JSON.parse(body)
    answer.id = id
    if (!methods[method]) throw new Refusal(-32601, 'Method not found: ' + method)
    answer.result = methods[method](...(params ?? [])) ?? null
  } catch (e) {
    answer.error = { code: e.code ?? -32602, message: e.message }
  }
  response.setHeader('Content-Type', 'application/json')
  response.end(JSON.stringify(answer))
}).listen(0, '127.0.0.1', function () {
  console.log(this.address().port)
})
process.stdin.on('end', () => process.exit()).resume()
