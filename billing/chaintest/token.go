package chaintest

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"aanet/billing"
)

// atomicPerUnit is how many of USDC's smallest units one of ours is.
const atomicPerUnit = 10

func smallest(u billing.Units) *big.Int {
	return new(big.Int).Mul(big.NewInt(int64(u)), big.NewInt(atomicPerUnit))
}

// contracts/compile.mjs wrote it from TestUSDC.sol.
//
//go:embed contracts/TestUSDC.json
var artifact []byte

//go:embed contracts/TestUSDC.sol
var source []byte

var (
	tokenABI, batchABI   abi.ABI
	tokenCode, batchCode []byte
	otherToken           = common.HexToAddress("0x00000000000000000000000000000000ba7c4001")
	batchAddress         = common.HexToAddress("0x00000000000000000000000000000000ba7c4000")
)

type contract struct {
	ABI     abi.ABI       `json:"abi"`
	Runtime hexutil.Bytes `json:"runtime"`
}

func init() {
	var compiled struct {
		SourceSHA256        string
		TestUSDC, TestBatch contract
	}
	if err := json.Unmarshal(artifact, &compiled); err != nil {
		panic(fmt.Errorf("read the compiled contracts: %w", err))
	}
	if sum := sha256.Sum256(source); compiled.SourceSHA256 != hex.EncodeToString(sum[:]) {
		panic("TestUSDC.json was not made from this TestUSDC.sol: see contracts/compile.mjs")
	}
	tokenABI, tokenCode = compiled.TestUSDC.ABI, compiled.TestUSDC.Runtime
	batchABI, batchCode = compiled.TestBatch.ABI, compiled.TestBatch.Runtime
}

// pack encodes a call of the token. Of functions of one name it takes the one with as many arguments.
func pack(function string, args ...any) []byte {
	for _, method := range tokenABI.Methods {
		if method.RawName != function || len(method.Inputs) != len(args) {
			continue
		}
		data, err := method.Inputs.Pack(args...)
		if err != nil {
			panic(err)
		}
		return append(slices.Clone(method.ID), data...)
	}
	panic("the token has no such function: " + function)
}
