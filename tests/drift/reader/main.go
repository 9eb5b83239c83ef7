// Prints the declarations of Go files as they are without comments, as JSON.
//
// Reads from its input one path a line. Prints an object: path -> name -> text of the declaration,
// where the name of a method is `Receiver.Method`, and that of a type, variable or constant its own.
// Only the syntax is read, so that the file need not compile.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
)

func main() {
	answer := map[string]map[string]string{}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		found, err := declarations(lines.Text())
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		answer[lines.Text()] = found
	}
	if err := json.NewEncoder(os.Stdout).Encode(answer); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func declarations(path string) (map[string]string, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	keep := func(name string, node any) error {
		var text bytes.Buffer
		err := printer.Fprint(&text, token.NewFileSet(), node)
		// Several may have one name, as `_` and `init`.
		found[name] += text.String() + "\n"
		return err
	}
	for _, declared := range file.Decls {
		switch each := declared.(type) {
		case *ast.FuncDecl:
			err = keep(receiver(each)+each.Name.Name, each)
		case *ast.GenDecl:
			for _, spec := range each.Specs {
				switch of := spec.(type) {
				case *ast.TypeSpec:
					err = keep(of.Name.Name, of)
				case *ast.ValueSpec:
					for _, name := range of.Names {
						err = keep(name.Name, of)
					}
				}
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// receiver is the name of the method's type and a dot, or nothing.
func receiver(function *ast.FuncDecl) string {
	if function.Recv == nil {
		return ""
	}
	of := function.Recv.List[0].Type
	for {
		switch each := of.(type) {
		case *ast.StarExpr:
			of = each.X
		case *ast.IndexExpr:
			of = each.X
		case *ast.IndexListExpr:
			of = each.X
		case *ast.Ident:
			return each.Name + "."
		default:
			return ""
		}
	}
}
